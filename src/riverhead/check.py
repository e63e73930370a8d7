"""Check what others say about attention: `claims` of a text, and answers of a learner."""
