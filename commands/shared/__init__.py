"""Helpers of the commands: input arguments, printed lines, and facts about graphs and machines."""
