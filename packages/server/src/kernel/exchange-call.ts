import type { Readable } from "node:stream"
import type { Call, Handshake, OrganizationFacts, ProjectTenant, Tenant } from "./call.ts"
import type { Db } from "./db/database.ts"
import { type Exchange, userAgentOf } from "./exchange.ts"
import { fault } from "./fault.ts"

const refuse = (): never => {
  throw fault("role_insufficient", { roles: "membership of an organization" })
}

/** RFC 9110, 15.5.22, and RFC 6455, 4.4. */
const UPGRADE = { upgrade: "websocket", connection: "upgrade", "sec-websocket-version": "13" } as const

/** A signed-in person may belong to no organization. An operation that acts in one refuses when it looks at it. */
const nobody: OrganizationFacts = {
  get id() {
    return refuse()
  },
  get name() {
    return refuse()
  },
  get plan() {
    return refuse()
  },
  get requestsPerSecond() {
    return refuse()
  },
}

/**
 * A class for the sake of its prototype: a handler looks at two or three of these fields, and the others must cost a
 * request nothing. Everything is a getter, so that handlers may take a call apart: `({ owner, meter })`.
 */
class ExchangeCall implements Call {
  readonly #exchange: Exchange
  readonly #db: Db

  constructor(exchange: Exchange, db: Db) {
    this.#exchange = exchange
    this.#db = db
  }

  get db() {
    return this.#db
  }
  get operation() {
    return this.#exchange.operation
  }
  get requestId() {
    return this.#exchange.requestId
  }
  get now() {
    return new Date(this.#exchange.nowMs)
  }
  get principal() {
    return this.#exchange.principal
  }
  get signed() {
    return this.#exchange.signed
  }
  get organization() {
    return this.#exchange.organization ?? nobody
  }
  get project() {
    return this.#exchange.project
  }
  get owner() {
    const { project, organization } = this.#exchange
    // Without an organization there is no scope, so no operation asks whose data it may touch.
    return project?.id ?? organization?.id ?? ""
  }
  get tenant(): Tenant {
    return {
      organizationId: this.organization.id,
      projectId: this.project?.id ?? null,
      ownerId: this.owner,
    }
  }
  get projectTenant(): ProjectTenant {
    if (!this.project) throw fault("project_required")
    return { organizationId: this.organization.id, projectId: this.project.id }
  }
  get readOnly() {
    return this.#exchange.principal.readOnly
  }
  get ip() {
    return this.#exchange.incoming.ip
  }
  get target() {
    return this.#exchange.incoming.target
  }
  get log() {
    return this.#exchange.log
  }
  get userAgent() {
    return userAgentOf(this.#exchange.incoming)
  }
  get header(): Call["header"] {
    const { incoming } = this.#exchange
    return name => incoming.header(name)
  }
  get headerNames(): Call["headerNames"] {
    const { incoming } = this.#exchange
    return () => incoming.headerNames()
  }
  get signal(): AbortSignal {
    return this.#exchange.incoming.signal()
  }
  get stream(): Readable {
    const stream = this.#exchange.incoming.stream()
    this.#exchange.replay?.body?.watch(stream)
    return stream
  }
  get handshake(): Handshake {
    const { handshake } = this.#exchange.incoming
    if (!handshake) throw fault("upgrade_required", undefined, { headers: UPGRADE })
    return handshake
  }
  get countRequest(): Call["countRequest"] {
    const exchange = this.#exchange
    return organization => exchange.countRequest?.(organization)
  }
  get describe(): Call["describe"] {
    const exchange = this.#exchange
    return note => {
      exchange.note = { ...exchange.note, ...note }
    }
  }
  get meter(): Call["meter"] {
    const exchange = this.#exchange
    return (metric, quantity) => {
      exchange.meters = [...exchange.meters, [metric, quantity]]
    }
  }
  get committed(): Call["committed"] {
    const exchange = this.#exchange
    return act => {
      exchange.commits = [...exchange.commits, act]
    }
  }
  get rolledBack(): Call["rolledBack"] {
    const exchange = this.#exchange
    return act => {
      exchange.rollbacks = [...exchange.rollbacks, act]
    }
  }
  get setHeader(): Call["setHeader"] {
    const { headers } = this.#exchange
    return (name, value) => {
      headers[name] = value
    }
  }
}

/** The exchange as its handler sees it; `db` is the pool or the open transaction. */
export const createCall = (exchange: Exchange, db: Db): Call => new ExchangeCall(exchange, db)
