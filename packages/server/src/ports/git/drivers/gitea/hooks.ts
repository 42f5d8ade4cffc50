/** Gitea's webhooks (docs.gitea.com/usage/webhooks); Forgejo sends the same headers. */
import type { Hooks } from "../../port.ts"
import { githubLikeHooks } from "../github/hooks.ts"

export const giteaHooks: Hooks = githubLikeHooks({
  ...{ signature: "x-gitea-signature", signaturePrefix: "" },
  ...{ event: "x-gitea-event", delivery: "x-gitea-delivery" },
})
