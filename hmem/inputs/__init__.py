"""What a caller hands in -> validated values. Pure; raises before anything is written."""
