"""GPU accounting: which cards of a node can still be given to whom. Pure: values in, values out.

It reads a node's capacity, its unfit indexes and its pods' annotations as Volcano's scheduler
does, so that both come to the same answer. Nothing here asks the API server; `controller.extender`
does, and decides with it.
"""
