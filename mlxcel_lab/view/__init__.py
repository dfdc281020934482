"""What people look at: charts, the dashboard, the token strip."""
