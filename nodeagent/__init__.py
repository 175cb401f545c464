"""The node agent: joins the GPU driver's processes with containers, and serves the answer."""
