"""The main job on real parts: kube-apiserver, containerd, nvidia-ml-py on a fake driver, our servers.

`world` is one node with its servers, `scene` the objects that a test puts there, `truth` what the
answer must then be; `askers` ask it in four ways, `watching` asks while something breaks.
"""
