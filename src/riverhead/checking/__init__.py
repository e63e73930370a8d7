"""What others say about attention, checked: claims in an article, answers of a learner, implementations."""
