/** Files of `wg` and `wg-quick`. Their values were checked before; a name goes into a comment, where no line can end. */

export interface GatewayConfig {
  readonly privateKey: string
  readonly listenPort: number
  readonly peers: readonly GatewayPeer[]
}

export interface GatewayPeer {
  readonly publicKey: string
  readonly allowedIps: readonly string[]
  readonly endpoint: string | null
}

/** For `wg syncconf`: all that the gateway lets in. */
export const renderGateway = ({ privateKey, listenPort, peers }: GatewayConfig): string =>
  [
    "[Interface]",
    `PrivateKey = ${privateKey}`,
    `ListenPort = ${listenPort}`,
    ...peers.flatMap(({ publicKey, allowedIps, endpoint }) => [
      "",
      "[Peer]",
      `PublicKey = ${publicKey}`,
      `AllowedIPs = ${allowedIps.join(", ")}`,
      ...(endpoint === null ? [] : [`Endpoint = ${endpoint}`]),
    ]),
    "",
  ].join("\n")

/** Stands for a private key that the platform does not have. */
export const PRIVATE_KEY_PLACEHOLDER = "REPLACE_WITH_THE_PRIVATE_KEY"

export interface ClientConfig {
  readonly title: string
  readonly privateKey: string | undefined
  readonly address: string
  readonly listenPort: number | undefined
  readonly mtu: number
  readonly dnsServers: readonly string[]
  readonly gatewayKey: string
  readonly gatewayEndpoint: string
  readonly allowedIps: readonly string[]
  readonly keepaliveSeconds: number
}

/** For `wg-quick`, and every client that imports its files. */
export const renderClient = (config: ClientConfig): string =>
  [
    `# ${config.title}`,
    "[Interface]",
    `PrivateKey = ${config.privateKey ?? PRIVATE_KEY_PLACEHOLDER}`,
    `Address = ${config.address}/32`,
    ...(config.listenPort === undefined ? [] : [`ListenPort = ${config.listenPort}`]),
    ...(config.dnsServers.length === 0 ? [] : [`DNS = ${config.dnsServers.join(", ")}`]),
    `MTU = ${config.mtu}`,
    "",
    "[Peer]",
    `PublicKey = ${config.gatewayKey}`,
    `Endpoint = ${config.gatewayEndpoint}`,
    `AllowedIPs = ${config.allowedIps.join(", ")}`,
    ...(config.keepaliveSeconds === 0 ? [] : [`PersistentKeepalive = ${config.keepaliveSeconds}`]),
    "",
  ].join("\n")
