"""The real parts that the end-to-end tests run: kube-apiserver, etcd, containerd, grpcurl.

One module for each part, `parts` to find or build their programs, `processes`
to run them and leave nothing behind. What is asked of gpupods with them is the
business of the tests that import them.
"""
