import { gatewayOf, readRange } from "./addresses.ts"
import { isActive } from "./keeper.ts"
import type { NetworkRow, NetworkWithCount, PeerRow } from "./store.ts"
import { type ClientConfig, renderClient } from "./wireguard/config.ts"
import type { PeerCounters } from "./wireguard/engine.ts"

/** A session of WireGuard ends three minutes after its handshake. */
const ONLINE_MS = 180_000

export interface NetworkState {
  readonly endpointHost: string
  readonly status: "active" | "unavailable" | "error"
  readonly reason: string | undefined
}

/** IPv6 addresses stand in brackets before a port. */
const endpointOf = (host: string, port: number): string =>
  host.includes(":") && !host.startsWith("[") ? `[${host}]:${port}` : `${host}:${port}`

export const toVpc = (row: NetworkWithCount, { endpointHost, status, reason }: NetworkState) => {
  const range = readRange(row.cidr)
  return {
    id: row.id,
    project_id: row.project_id,
    name: row.name,
    description: row.description,
    cidr: row.cidr,
    gateway: range ? gatewayOf(range) : "",
    dns_servers: row.dns_servers,
    mtu: row.mtu,
    region: row.region,
    status,
    status_reason: reason ?? null,
    endpoint: endpointOf(endpointHost, row.listen_port),
    listen_port: row.listen_port,
    public_key: row.public_key,
    peer_count: row.peer_count,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

export const toPeer = (row: PeerRow, counters: PeerCounters | undefined, now: Date) => {
  const handshakeMs = (counters?.latestHandshakeSeconds ?? 0) * 1000
  return {
    id: row.id,
    vpc_id: row.network_id,
    name: row.name,
    public_key: row.public_key,
    address: row.address,
    allowed_ips: row.allowed_ips,
    endpoint: row.endpoint,
    persistent_keepalive_seconds: row.persistent_keepalive_seconds,
    dns_servers: row.dns_servers,
    enabled: row.enabled,
    expires_at: row.expires_at?.toISOString() ?? null,
    // Handshakes are counted by the machine's clock.
    online: isActive(row, now) && handshakeMs > Date.now() - ONLINE_MS,
    latest_handshake_at: handshakeMs > 0 ? new Date(handshakeMs).toISOString() : null,
    transfer_rx_bytes: counters?.receivedBytes ?? 0,
    transfer_tx_bytes: counters?.sentBytes ?? 0,
    created_at: row.created_at.toISOString(),
  }
}

const portOf = (endpoint: string | null): number | undefined =>
  endpoint === null ? undefined : Number(endpoint.slice(endpoint.lastIndexOf(":") + 1))

export const clientConfigOf = (
  network: NetworkRow,
  peer: PeerRow,
  given: {
    readonly others: readonly PeerRow[]
    readonly privateKey: string | undefined
    readonly endpointHost: string
  },
): string => {
  const config: ClientConfig = {
    title: `${peer.name} in ${network.name}`,
    privateKey: given.privateKey,
    address: peer.address,
    listenPort: portOf(peer.endpoint),
    mtu: network.mtu,
    dnsServers: peer.dns_servers.length > 0 ? peer.dns_servers : network.dns_servers,
    gatewayKey: network.public_key,
    gatewayEndpoint: endpointOf(given.endpointHost, network.listen_port),
    allowedIps: [network.cidr, ...given.others.flatMap(({ allowed_ips }) => allowed_ips)],
    keepaliveSeconds: peer.persistent_keepalive_seconds,
  }
  return renderClient(config)
}

/** Names of devices have at most 15 characters, and `wg-quick` names the device after the file. */
export const fileNameOf = (name: string): string => {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
  return `${plain.slice(0, 15).replace(/-+$/, "") || "svc"}.conf`
}
