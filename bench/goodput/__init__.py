"""How many calls one core takes: the default agent, a passed-through model, SIP, two processes."""
