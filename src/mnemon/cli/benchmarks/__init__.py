"""What `mnemon bench` measures: how well recall finds evidence, how fast it is, how fast writing is, and the peers
beside it in the same run. Not for serving: nothing outside the command imports it."""
