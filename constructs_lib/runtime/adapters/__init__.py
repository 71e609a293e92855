"""AWS behind the services: clients, training jobs and executions, in the words of the protocol."""
