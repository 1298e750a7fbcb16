"""Running passes: the pass registry, textual pipelines, diagnostics and split inputs."""
