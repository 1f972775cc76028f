"""A machine grown node by node and layer by layer, as in Algorithm 1 of the paper."""
