"""All of an organization's memories as one table, filtered and counted: for the people who look after them."""
