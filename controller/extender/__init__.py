"""The scheduler extender: keeps pods off unfit GPUs, and shares GPUs where Volcano is not.

`wire` is what the schedulers send and read, `decide` judges nodes, `binding` gives a pod its cards,
`leadership` sees to it that one replica alone does so, `service` is what the HTTP port serves.
"""
