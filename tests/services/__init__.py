"""Real services that tests start on the loopback interface and stop when they are done."""
