/** A platform that asks a name server of this machine, on which a test publishes what domains need. */
import { once } from "node:events"
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http"
import type { TestContext } from "node:test"
import type { Svc } from "@svc/sdk"
import { type DnsServer, startDns } from "../../../testing/dns.ts"
import { everyScope, type PlatformOptions, platform, type TestPlatform } from "../../../testing/platform.ts"

export type Domain = Awaited<ReturnType<Svc["domains"]["get"]>>

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly text: string
}

/** One request for a host name, over a connection of its own, to a process of the platform. */
export const askAt = async (
  port: number,
  host: string,
  path = "/",
  { headers, ...options }: RequestOptions = {},
  body = "",
): Promise<Answer> => {
  const asked = httpRequest({
    ...{ host: "127.0.0.1", port, path, agent: false, ...options },
    headers: { host, ...headers },
  })
  asked.end(body)
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  const text = Buffer.concat(await answer.toArray()).toString()
  return { status: answer.statusCode ?? 0, headers: answer.headers, text }
}

export interface DomainsWorld {
  readonly p: TestPlatform
  /** Holds a key of the tenant `acme` with every scope. */
  readonly svc: Svc
  readonly dns: DnsServer
  readonly ask: (host: string, path?: string, options?: RequestOptions, body?: string) => Promise<Answer>
  /** Publishes one of the records of a domain. */
  publish(domain: Domain, type?: "TXT" | "CNAME"): void
  /** A domain of the tenant's that is served. */
  active(domain: string, more?: Omit<Parameters<Svc["domains"]["create"]>[0], "domain">): Promise<Domain>
}

export const publishOn =
  (dns: DnsServer) =>
  (domain: Domain, type: "TXT" | "CNAME" = "TXT") => {
    for (const record of domain.records)
      if (record.type === type) dns.answer(record.name, [{ type, data: record.value }])
  }

export const domainsWorld = async (
  t: TestContext,
  { env, ...options }: PlatformOptions = {},
): Promise<DomainsWorld> => {
  const dns = await startDns(t)
  const p = await platform(t, {
    ...options,
    env: { SVC_DNS_SERVERS: dns.address, SVC_OUTBOUND_ALLOW: "127.0.0.1/32", ...env },
  })
  const svc = await p.client("acme", ...everyScope)
  const publish = publishOn(dns)
  return {
    ...{ p, svc, dns, publish },
    ask: (host, path, options, body) => askAt(p.config.port, host, path, options, body),
    async active(domain, more) {
      const made = await svc.domains.create({ domain, ...more })
      publish(made)
      return svc.domains.verify({ id: made.id })
    },
  }
}
