"""Which GPUs of this node are fit to be given to anybody: noticed, judged, remembered."""
