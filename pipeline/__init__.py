"""What a pipeline is, how its steps are checked and described, and how a run is planned."""
