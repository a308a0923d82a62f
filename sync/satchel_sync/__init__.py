"""What travels between replicas and the warehouse, and how two copies become one."""
