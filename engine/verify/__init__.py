"""What is kept, computed anew from the tuples and compared: `psoup fsck`."""
