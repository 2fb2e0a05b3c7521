"""What an agent did behind a gateway, judged from a recording: `fault gateway report`."""
