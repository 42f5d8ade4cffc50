-- Functions that were subscribed with the default of webhooks now run as long as their own limit allows.
UPDATE events.subscriptions SET timeout_seconds = 300 WHERE sub_type = 'function' AND timeout_seconds = 15;
