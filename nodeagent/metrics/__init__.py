"""What a Prometheus may scrape of a node agent. Imported only where it is served."""
