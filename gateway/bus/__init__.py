"""A NATS server that several machines share: events of calls, who has which, and commands."""
