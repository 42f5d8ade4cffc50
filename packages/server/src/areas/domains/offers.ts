/** What other areas may offer to this one: what a custom domain can be pointed at. Types and tokens alone. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Scope } from "@svc/contract"
import { offerToken } from "../../kernel/token.ts"

export interface DomainOwner {
  readonly organizationId: string
  readonly projectId: string
}

/** How a bucket is shown. */
export interface Site {
  readonly index_document: string
  readonly error_document: string | null
  readonly spa: boolean
  readonly headers: Readonly<Record<string, string>>
}

/** What one domain was pointed at. */
export interface Pointed extends DomainOwner {
  readonly key: string
  readonly site: Site | null
}

/** A request for a custom domain. Its target is in origin form, and its framing was checked. */
export interface AskedOfDomain {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The client's. */
  readonly address: string
  readonly scheme: "http" | "https"
  /** Of a request that would go on as a WebSocket. */
  readonly upgrade?: { readonly socket: Socket; readonly head: Buffer }
}

export interface DomainTarget {
  /** What whoever points a domain there must hold: it becomes public by that. */
  readonly scope: Scope
  /** What `answer` or `path` finds it by; undefined where the project has none of this id. */
  find(owner: DomainOwner, id: string): Promise<string | undefined>
  /** Answers requests. Left out, they are answered as those below `path` of the platform. */
  answer?(pointed: Pointed, asked: AskedOfDomain): void
  /** Without a slash at the end. */
  path?(pointed: Pointed): string
}

export const runServiceTarget = offerToken<DomainTarget>("domains.run_service")
export const deploymentTarget = offerToken<DomainTarget>("domains.deployment")
export const functionTarget = offerToken<DomainTarget>("domains.function")
export const loadBalancerTarget = offerToken<DomainTarget>("domains.load_balancer")
export const bucketTarget = offerToken<DomainTarget>("domains.bucket")
