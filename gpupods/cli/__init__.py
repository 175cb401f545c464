"""The command `gpupods`, which is also the kubectl plugin `kubectl gpupods`."""
