"""The podgroup controller: gives pods that come without a group one of their own, shared with their siblings."""
