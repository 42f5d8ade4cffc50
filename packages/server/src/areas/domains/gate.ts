/** Requests for custom domains: each goes to what its domain was pointed at. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import type { HostGate } from "../../kernel/edges/host-gate.ts"
import type { OwnServer } from "../../kernel/edges/own-server.ts"
import { responseOn } from "../../services/proxy/forward.ts"
import { type Refusal, refuse } from "../../services/proxy/refusal.ts"
import { guardRequest } from "../../services/proxy/request-guard.ts"
import { hostOf } from "./names.ts"
import type { AskedOfDomain, Pointed } from "./offers.ts"
import type { DomainRow } from "./store.ts"
import type { Table } from "./table.ts"
import type { Targets, TargetType } from "./targets.ts"

const NO_TARGET: Refusal = { status: 404, text: "This domain does not lead anywhere yet." }
const NO_SOCKETS: Refusal = { status: 404, text: "Nothing here speaks WebSocket." }
const HSTS = "max-age=31536000"

const CHALLENGE = /^\/\.well-known\/acme-challenge\/([\w-]{16,128})$/

export interface GateNeeds {
  /** What an authority is answered that asks for a token; undefined where none was published. */
  readonly challengeAnswer: (domainId: string, token: string) => Promise<string | undefined>
  readonly table: Pick<Table, "find">
  readonly targets: Targets
  readonly ownServer: OwnServer
  /** What a connection without TLS counts as: a proxy in front may have ended it. */
  readonly plainScheme: "http" | "https"
  /** Whether another process of the platform sends it on: the scheme that its client used was looked at there. */
  readonly isRelayed: (request: IncomingMessage) => boolean
}

const pointedOf = (row: DomainRow, key: string): Pointed => ({
  ...{ organizationId: row.organization_id, projectId: row.project_id, key, site: row.site },
})

export const schemeOf = ({ socket }: IncomingMessage, plain: "http" | "https"): "http" | "https" =>
  (socket as Partial<TLSSocket>).encrypted === true ? "https" : plain

export const createDomainGate = (needs: GateNeeds): HostGate => {
  const { table, targets, ownServer, plainScheme, isRelayed, challengeAnswer } = needs
  /** Requests that go on as those for a path of the platform: they are not this gate's any more. */
  const passed = new WeakSet<IncomingMessage>()

  const goOn = (path: string, target: string, { request, response, upgrade }: AskedOfDomain) => {
    if (upgrade) return refuse(response, NO_SOCKETS)
    passed.add(request)
    request.url = `${path}${target}`
    ownServer.handle(request, response)
  }

  const answer = async (row: DomainRow, asked: AskedOfDomain, target: string) => {
    const { target_type, target_key } = row
    const kind = target_type === null ? undefined : await targets[target_type as TargetType].get()
    if (!kind || target_key === null) return refuse(asked.response, NO_TARGET)
    const pointed = pointedOf(row, target_key)
    if (kind.answer) return kind.answer(pointed, asked)
    goOn(kind.path?.(pointed) ?? "", target, asked)
  }

  /** Whether it was an authority that asked, and is answered. */
  const answerChallenge = async (row: DomainRow, { response }: AskedOfDomain, target: string) => {
    const token = CHALLENGE.exec(target)?.[1]
    if (token === undefined || row.certificate_source !== "acme") return false
    const text = await challengeAnswer(row.id, token)
    if (text === undefined) return false
    response.writeHead(200, { "content-type": "text/plain", "content-length": text.length }).end(text)
    return true
  }

  const respond = async (row: DomainRow, asked: AskedOfDomain, target: string) => {
    const { response, scheme } = asked
    if (await answerChallenge(row, asked, target)) return
    if (scheme === "http" && row.force_https && !isRelayed(asked.request)) {
      const location = `https://${row.domain}${target}`
      return refuse(response, {
        status: 308,
        text: "See the same address over HTTPS.",
        headers: { location },
      })
    }
    if (scheme === "https" && row.hsts) response.setHeader("strict-transport-security", HSTS)
    await answer(row, asked, target)
  }

  const handle = (asked: AskedOfDomain) => {
    const { request, response } = asked
    response.on("error", () => undefined)
    const row = table.find(hostOf(request.headers.host))
    const target = guardRequest(request)
    if (typeof target !== "string") return refuse(response, target)
    if (!row) return refuse(response, NO_TARGET)
    respond(row, asked, target).catch(() => void response.destroy())
  }

  return {
    claims: request => table.find(hostOf(request.headers.host)) !== undefined && !passed.has(request),
    serve: (request, response, address) =>
      handle({ request, response, address, scheme: schemeOf(request, plainScheme) }),
    upgrade(request, socket, head, address) {
      socket.on("error", () => undefined)
      const response: ServerResponse = responseOn(request, socket as Socket)
      const upgrade = { socket: socket as Socket, head }
      handle({ request, response, address, scheme: schemeOf(request, plainScheme), upgrade })
    },
  }
}
