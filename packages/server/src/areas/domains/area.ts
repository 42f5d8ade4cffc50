import { readFile } from "node:fs/promises"
import { accountKeyOf } from "./certificates/account.ts"
import { createContexts } from "./certificates/contexts.ts"
import { createEntrance, type Entrance } from "./certificates/entrance.ts"
import { createIssuing } from "./certificates/issuing.ts"
import { certificateStore } from "./certificates/store.ts"
import { createChecker } from "./checker.ts"
import { createDomainGate } from "./gate.ts"
import { domainsHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { cnameHostOf } from "./settings.ts"
import { routeStore } from "./store.ts"
import { createTable, type Table } from "./table.ts"

/** The client of the authority, made for the first certificate; undefined where the operator names none. */
const acmeOf = ({ settings, outbound, deriveSecret }: Needs) => {
  const { acmeDirectory: directoryUrl, acmeEmail: email } = settings
  if (directoryUrl === undefined) return { isPossible: false, acme: () => undefined }
  const open = async () => {
    const { createAcme } = await import("./certificates/acme.ts")
    const key = accountKeyOf(deriveSecret("svc:acme", directoryUrl))
    return createAcme({ outbound, directoryUrl, email, key })
  }
  let opened: ReturnType<typeof open> | undefined
  const acme = () => {
    opened ??= open()
    return opened
  }
  return { isPossible: true, acme }
}

const openEntrance = async (services: Needs, table: Table): Promise<Entrance | undefined> => {
  const { ports, settings, database } = services
  if (ports.tls === undefined) return undefined
  const { tlsCertFile, tlsKeyFile } = settings
  const fallback =
    tlsCertFile === undefined || tlsKeyFile === undefined
      ? undefined
      : { cert: await readFile(tlsCertFile, "utf8"), key: await readFile(tlsKeyFile, "utf8") }
  return createEntrance({
    ...{ ...services, fallback },
    contexts: createContexts({ ...services, db: database.db, table }),
  })
}

/** What a connection without TLS counts as: HTTPS only where a proxy in front ends it for all. */
const plainSchemeOf = ({ ports, baseUrl }: Needs): "http" | "https" =>
  ports.tls === undefined && new URL(baseUrl).protocol === "https:" ? "https" : "http"

export const start = async (services: Needs) => {
  const { database, changes, baseUrl, settings, box, relay } = services
  const cnameHost = cnameHostOf(settings, baseUrl)
  const { run_service, deployment, load_balancer, bucket } = services
  const targets = { run_service, deployment, function: services.function, load_balancer, bucket }
  const table = createTable({ ...services, routes: routeStore(database.db) })
  await table.load()
  const issuing = createIssuing({ ...services, ...acmeOf(services) })
  const checker = createChecker({ ...services, issuing, cnameHost })
  const entrance = await openEntrance(services, table)
  const ownNames = [new URL(baseUrl).hostname, ...(cnameHost === undefined ? [] : [cnameHost])]
  return {
    operations: domainsHandlers({ changes, checker, table, targets, issuing, box, cnameHost, ownNames }),
    gate: createDomainGate({
      ...{ ...services, table, targets },
      plainScheme: plainSchemeOf(services),
      isRelayed: request => relay.callerOf(request) !== undefined,
      challengeAnswer: certificateStore(database.db).findAnswer,
    }),
    serves: { tls: entrance?.accept },
    async [Symbol.asyncDispose]() {
      table[Symbol.dispose]()
      await entrance?.[Symbol.asyncDispose]()
    },
  }
}
