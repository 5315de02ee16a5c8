"""What keeps memories in order over time: the curator's runs, the spine's versions, the seed; each a job or one call.
The rules stand beside the memories (curator, spine, seed, growth); here is what reads, asks and writes."""
