"""Running the tests of a suite in virtual, scaled or real time, with the same verdicts."""
