"""Where news of GPUs' health comes from: one file for each, all of them `HealthSource`s."""
