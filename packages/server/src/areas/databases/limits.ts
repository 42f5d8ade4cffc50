/** Connections that a server takes from others than its superuser. */
export const USABLE_CONNECTIONS = 95
/** Of those, the ones that HTTP and the platform itself do not need. */
export const WIRE_CONNECTIONS_MAX = 75
