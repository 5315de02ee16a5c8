"""An organization's conversations at a glance, for the people who look after them: lists, counts and days. Reads only;
one person's own sessions are read in the folder above."""
