import { createNumberedTokens } from "../../core/secrets/numbered-tokens.ts"
import { connectedHandlers } from "./connected-handlers.ts"
import { createDirectory } from "./directory.ts"
import { createDocuments } from "./documents.ts"
import { createGrants } from "./grants.ts"
import { oauthHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { pageHandlers } from "./page-handlers.ts"
import { authorizationStore, clientStore } from "./store.ts"

const DAY_MS = 86_400_000
/** A registration that nobody connected, as its operation says. */
const UNUSED_MS = 30 * DAY_MS
const REFRESH_PREFIX = "svc_ort_"

export const start = (given: Needs) => {
  const { baseUrl, clock, database, jobs, outbound, changes, platformEvents, deriveSecret } = given
  const { signedIn, inProcess, isOwnOrigin } = given
  const refreshTokens = createNumberedTokens(REFRESH_PREFIX, deriveSecret("oauth.refresh", "tokens"))
  const directory = createDirectory(createDocuments(outbound))
  const grants = createGrants({ news: { changes, platformEvents }, refreshTokens })
  const csrfKey = deriveSecret("oauth.consent", "csrf")

  jobs.schedule({
    name: "oauth.prune",
    every: DAY_MS,
    async run() {
      const now = clock.now()
      await authorizationStore(database.db).forget(new Date(now - DAY_MS))
      await clientStore(database.db).forget(new Date(now - UNUSED_MS))
    },
  })

  return {
    operations: [
      ...oauthHandlers({ baseUrl, database, directory, grants, refreshTokens }),
      ...pageHandlers({ baseUrl, csrfKey, signedIn, inProcess, isOwnOrigin }),
      ...connectedHandlers({ grants }),
    ],
  }
}
