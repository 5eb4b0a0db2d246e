"""The programs that are timed: each makes a job from an engine and a size; both engines get the same node functions.

What an engine or langchain_core offers is imported inside, so that a worker can time the imports themselves and never
holds the memory of what its workload does not use.
"""
