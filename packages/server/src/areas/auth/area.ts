import { areas } from "@svc/contract"
import { endUserTokens } from "../../core/tokens.ts"
import { implement } from "../../kernel/implement.ts"
import { provide } from "../../kernel/token.ts"
import { adminHandlers, settingsHandlers } from "./admin-handlers.ts"
import { type Context, createContext } from "./context.ts"
import { importHandlers } from "./import-handlers.ts"
import { linkHandlers } from "./link-handlers.ts"
import { mailHandlers } from "./mail-handlers.ts"
import { mailQueue } from "./mails.ts"
import { challengeHandlers, factorHandlers } from "./mfa-handlers.ts"
import type { Needs } from "./needs.ts"
import { providerHandlers } from "./provider-handlers.ts"
import { providerSettingsHandlers } from "./provider-settings.ts"
import { pruning } from "./pruning.ts"
import { createSignIn } from "./sign-in.ts"
import { signInHandlers } from "./sign-in-handlers.ts"
import { createTokens } from "./tokens.ts"
import { userHandlers } from "./user-handlers.ts"

const handlers = implement(areas.auth, (context: Context) => {
  const signIn = createSignIn(context)
  return {
    ...signInHandlers(context, signIn),
    ...mailHandlers(context, signIn),
    ...userHandlers(context),
    ...linkHandlers(context),
    ...challengeHandlers(context, signIn),
    ...factorHandlers(context, signIn),
    ...providerHandlers(context, signIn),
    ...providerSettingsHandlers(context),
    ...settingsHandlers(context),
    ...adminHandlers(context),
    ...importHandlers(context),
  }
})

export const start = (needs: Needs) => {
  const context = createContext(needs)
  const { db, changes, keys, baseUrl, jobs } = context
  jobs.define(mailQueue(context))
  jobs.schedule(pruning(context))
  return {
    operations: handlers(context),
    provides: [provide(endUserTokens, createTokens({ db, changes, keys, baseUrl }))],
  }
}
