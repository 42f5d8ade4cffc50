import { isIP, type LookupFunction } from "node:net"
import { buildConnector } from "undici"
import type { Names } from "./names.ts"
import { OutboundError } from "./outbound.ts"
import { refusedAddress, type TargetRules } from "./targets.ts"

/** From looking the name up to the end of the TLS handshake. */
const CONNECT_MS_MAX = 5_000

const connectError = (error: Error, protocol: string): OutboundError => {
  if (error instanceof OutboundError) return error
  const { code = "", syscall } = error as NodeJS.ErrnoException
  if (code === "UND_ERR_CONNECT_TIMEOUT")
    return new OutboundError({ kind: "timeout", message: "There was no connection in five seconds." }, error)
  if (protocol === "https:" && syscall !== "connect" && !(error instanceof AggregateError))
    return new OutboundError({ kind: "tls", message: `The TLS handshake failed: ${code}.` }, error)
  return new OutboundError({ kind: "unreachable", message: `No connection came about: ${code}.` }, error)
}

/**
 * Connects to addresses that the rules admit, and to no others. A name is looked up once for a connection, and the
 * answers that were judged are the ones connected to, so a name that changes its mind in between gains nothing. Node asks
 * no `lookup` for a literal address; that one is judged before.
 */
export const createConnector = (
  rules: TargetRules,
  names: Names,
  allowH2 = false,
): buildConnector.connector => {
  const admitted = async (protocol: string, host: string) => {
    const addresses = await names.addressesOf(host)
    const admitted = addresses.filter(address => rules.admits(protocol, host, address))
    if (admitted.length === 0) throw refusedAddress()
    return admitted.map(address => ({ address, family: isIP(address) }))
  }
  const connectorOf = (protocol: string) => {
    const lookup: LookupFunction = (host, _options, done) => {
      admitted(protocol, host).then(
        addresses => done(null, addresses),
        error => done(error, []),
      )
    }
    return buildConnector({
      // With it, Node asks `lookup` for all addresses and tries them by turns (RFC 8305).
      autoSelectFamily: true,
      lookup,
      allowH2,
      // The environment can switch verification off for the whole process, but not here.
      rejectUnauthorized: true,
      timeout: CONNECT_MS_MAX,
    })
  }
  const connectors = { http: connectorOf("http:"), https: connectorOf("https:") }

  return (options, done) => {
    const { protocol, hostname } = options
    if (isIP(hostname) !== 0 && !rules.admits(protocol, hostname, hostname)) {
      process.nextTick(done, refusedAddress(), null)
      return
    }
    const connect = protocol === "https:" ? connectors.https : connectors.http
    connect(options, (...[error, socket]) => {
      if (error) return done(connectError(error, protocol), null)
      const { remoteAddress = "" } = socket
      if (rules.admits(protocol, hostname, remoteAddress)) return done(null, socket)
      socket.destroy()
      done(refusedAddress(), null)
    })
  }
}
