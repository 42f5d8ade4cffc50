import { area, T } from "./dsl.ts"
import { Id, Name, Nullable, OneOf, Page, PageQuery, Time } from "./types.ts"

/** Largest number of private networks of an organization. */
export const VPCS_MAX = 25
/** Largest number of peers of a network. */
export const VPC_PEERS_MAX = 1_000
export const VPC_MTU_DEFAULT = 1420
export const VPC_KEEPALIVE_DEFAULT = 25
/** How long the private key of a peer can be fetched with its `config_token`. */
export const VPC_CONFIG_TOKEN_MINUTES = 10

const Named = T.Object({ id: Id })
const NamedPeer = T.Object({ id: Id, peer_id: Id })

const Address = T.String({ pattern: "^(?:\\d{1,3}\\.){3}\\d{1,3}$", description: "IPv4 address" })
const DnsServers = T.Array(Address, {
  maxItems: 4,
  uniqueItems: true,
  description: "Name servers that the configuration of peers names; none by default",
})
const Description = T.String({ maxLength: 500, default: "" })

const Vpc = T.Object({
  id: Id,
  project_id: Id,
  name: T.String(),
  description: T.String(),
  cidr: T.String({ description: "IPv4 range of the network; its first address is the gateway's" }),
  gateway: T.String({ description: "Address of the gateway in the network" }),
  dns_servers: T.Array(T.String(), { description: "Name servers that clients are told to use" }),
  mtu: T.Integer({ description: "Largest packet in bytes" }),
  region: T.String({ description: "Region of the installation" }),
  status: OneOf(["active", "unavailable", "error"], {
    description:
      "`active`: peers can connect; `unavailable`: this installation cannot run private networks now; `error`: see `status_reason`",
  }),
  status_reason: Nullable(T.String(), { description: "Why peers cannot connect; null while they can" }),
  endpoint: T.String({ description: "Host and UDP port that peers connect to" }),
  listen_port: T.Integer({ description: "UDP port of the network" }),
  public_key: T.String({ description: "WireGuard public key of the network, in base64" }),
  peer_count: T.Integer({ description: "Number of peers, whether enabled or not" }),
  created_at: Time,
  updated_at: Time,
})

const peerFields = {
  id: Id,
  vpc_id: Id,
  name: T.String(),
  public_key: T.String({ description: "WireGuard public key of the peer, in base64" }),
  address: T.String({ description: "Address of the peer in the network" }),
  allowed_ips: T.Array(T.String(), {
    description: "Ranges behind the peer that the other peers reach through it",
  }),
  endpoint: Nullable(T.String(), {
    description: "Fixed address and port of the peer; null where it connects from anywhere",
  }),
  persistent_keepalive_seconds: T.Integer({ description: "Seconds between keep-alive packets; 0 for none" }),
  dns_servers: T.Array(T.String(), { description: "Name servers that clients are told to use" }),
  enabled: T.Boolean({ description: "A peer that is not enabled cannot connect" }),
  expires_at: Nullable(Time, { description: "RFC 3339 time in UTC when it is disconnected; null for never" }),
  online: T.Boolean({ description: "True if there was a handshake in the last three minutes" }),
  latest_handshake_at: Nullable(Time, {
    description:
      "RFC 3339 time in UTC of the last handshake; null where there was none since the network started",
  }),
  transfer_rx_bytes: T.Integer({ description: "Bytes received from the peer since the network started" }),
  transfer_tx_bytes: T.Integer({ description: "Bytes sent to the peer since the network started" }),
  created_at: Time,
}
const Peer = T.Object(peerFields)
const NewPeer = T.Object({
  ...peerFields,
  private_key: T.Optional(
    T.String({ description: "Shown only here, and only where the server generated the key pair" }),
  ),
  config_token: T.Optional(
    T.String({
      description: `Gives one configuration with the private key, within ${VPC_CONFIG_TOKEN_MINUTES} minutes; only where the server generated the key pair`,
    }),
  ),
})

const config = {
  id: "getVpcConfig",
  http: "GET /v1/vpc/{id}/config",
  summary: "Get the WireGuard configuration of a peer",
  description:
    "The text is a file for `wg-quick`. The private key is in it only once: with the `config_token` of the reply that added the " +
    `peer, within ${VPC_CONFIG_TOKEN_MINUTES} minutes. Otherwise a placeholder stands in its place.`,
  scope: "vpc:read",
  effect: "read",
  params: Named,
  query: T.Object({
    peer_id: T.Optional(
      T.String({ format: "uuid", description: "Peer that it is for; the oldest one when left out" }),
    ),
    config_token: T.Optional(
      T.String({ maxLength: 100, description: "Token from the reply that added the peer" }),
    ),
  }),
  replies: {
    200: T.Object({
      peer_id: Id,
      config: T.String({ description: "Configuration file for `wg-quick`" }),
      filename: T.String({ description: "Suggested name of the file" }),
      has_private_key: T.Boolean({
        description: "False where `config` has a placeholder that must be replaced by the private key",
      }),
    }),
  },
  faults: ["vpc_not_found", "peer_not_found", "token_invalid_or_expired"],
} as const

const addPeer = {
  id: "addVpcPeer",
  http: "POST /v1/vpc/{id}/peers",
  summary: "Add a peer to a private network",
  description:
    "Without `public_key` the server generates a key pair and shows the private key once. The peer gets the next free address, or the " +
    "one that `allowed_ips` names inside the network.",
  scope: "vpc:write",
  effect: "write",
  transaction: "none",
  params: Named,
  body: T.Object({
    name: Name,
    public_key: T.Optional(
      T.String({
        minLength: 44,
        maxLength: 44,
        description:
          "WireGuard public key, as `wg pubkey` prints it; generated with its private key when left out",
      }),
    ),
    allowed_ips: T.Optional(
      T.Array(T.String({ minLength: 7, maxLength: 18 }), {
        maxItems: 20,
        default: [],
        description:
          "Private ranges behind the peer that the others reach through it; a single address inside the network is the peer's own",
      }),
    ),
    endpoint: T.Optional(
      T.String({
        maxLength: 60,
        description:
          "Public IP address and UDP port of the peer, such as `198.51.100.7:51820`, where it has a fixed one",
      }),
    ),
    persistent_keepalive_seconds: T.Optional(
      T.Integer({
        minimum: 0,
        maximum: 65_535,
        default: VPC_KEEPALIVE_DEFAULT,
        description: "Seconds between keep-alive packets, which keep the way through NAT open; 0 for none",
      }),
    ),
    dns_servers: T.Optional(DnsServers),
    enabled: T.Optional(
      T.Boolean({ default: true, description: "False adds it without letting it connect" }),
    ),
    expires_at: T.Optional(
      T.String({
        format: "date-time",
        description: "RFC 3339 time when the peer is disconnected; never when left out",
      }),
    ),
  }),
  replies: { 201: NewPeer },
  secrets: ["private_key", "config_token"],
  faults: ["vpc_not_found", "invalid_cidr", "invalid_parameter", "vpc_unavailable", "service_unavailable"],
  example: { name: "laptop" },
} as const

export const vpc = area(
  "vpc",
  {
    title: "Private networks",
    summary: "Networks of your machines over WireGuard, isolated from each other",
    project: "required",
    belongs: "project",
  },
  {
    list: {
      id: "listVpcs",
      http: "GET /v1/vpc",
      summary: "List private networks",
      scope: "vpc:read",
      effect: "read",
      query: PageQuery,
      replies: { 200: Page(Vpc) },
    },
    create: {
      id: "createVpc",
      http: "POST /v1/vpc",
      summary: "Create a private network",
      description:
        "A network has its own WireGuard gateway. Its peers reach each other through it; nothing else reaches them, and networks " +
        "do not reach each other, also where their ranges are the same.",
      scope: "vpc:write",
      effect: "write",
      transaction: "none",
      body: T.Object({
        name: Name,
        cidr: T.Optional(
          T.String({
            minLength: 9,
            maxLength: 18,
            description:
              "Private IPv4 range from /16 to /29, such as `10.20.30.0/24`; a free /24 of 10.0.0.0/8 when left out. It must not overlap other networks of the project, nor ranges of the host",
          }),
        ),
        description: T.Optional(Description),
        dns_servers: T.Optional(DnsServers),
        mtu: T.Optional(
          T.Integer({
            minimum: 1280,
            maximum: 1500,
            default: VPC_MTU_DEFAULT,
            description: "Largest packet in bytes",
          }),
        ),
        region: T.Optional(OneOf(["local"], { description: "Region of the installation", default: "local" })),
      }),
      replies: { 201: Vpc },
      faults: ["invalid_cidr", "invalid_parameter", "vpc_unavailable", "service_unavailable"],
      example: { name: "office" },
    },
    get: {
      id: "getVpc",
      http: "GET /v1/vpc/{id}",
      summary: "Show a private network",
      scope: "vpc:read",
      effect: "read",
      params: Named,
      replies: { 200: Vpc },
      faults: ["vpc_not_found"],
    },
    delete: {
      id: "deleteVpc",
      http: "DELETE /v1/vpc/{id}",
      summary: "Delete a private network with its peers",
      scope: "vpc:write",
      effect: "destroy",
      risk: "high",
      transaction: "none",
      params: Named,
      replies: { 200: T.Object({ id: Id, deleted: T.Boolean({ description: "Always true" }) }) },
      faults: ["vpc_not_found"],
    },
    config,
    listPeers: {
      id: "listVpcPeers",
      http: "GET /v1/vpc/{id}/peers",
      summary: "List the peers of a private network",
      scope: "vpc:read",
      effect: "read",
      params: Named,
      query: PageQuery,
      replies: { 200: Page(Peer) },
      faults: ["vpc_not_found"],
    },
    addPeer,
    removePeer: {
      id: "removeVpcPeer",
      http: "DELETE /v1/vpc/{id}/peers/{peer_id}",
      summary: "Remove a peer; its connection ends now",
      scope: "vpc:write",
      effect: "destroy",
      transaction: "none",
      params: NamedPeer,
      replies: { 200: T.Object({ id: Id, deleted: T.Boolean({ description: "Always true" }) }) },
      faults: ["vpc_not_found", "peer_not_found"],
    },
  },
)
