"""What Sphinx needs beyond its own: pages made of the program, and tutorials that run while they are built."""
