import type { MailedSecrets } from "../../core/credentials/mailed-tokens.ts"
import type { MailRow } from "./mail-store.ts"
import type { MailKind } from "./rules.ts"
import type { ProjectSettings } from "./settings.ts"

/** The page of the link, with the token in its query; undefined where the project names no page. */
const linkOf = ({ redirect_to, kind }: MailRow, { redirect_urls }: ProjectSettings, token: string) => {
  const page = redirect_to ?? redirect_urls.find(url => !url.endsWith("/*"))
  if (page === undefined) return undefined
  const url = new URL(page)
  url.searchParams.set("token", token)
  url.searchParams.set("type", kind)
  return url.href
}

const subjects: Readonly<Record<MailKind | "known", (app: string) => string>> = {
  signup: app => `Confirm your address for ${app}`,
  known: app => `You have an account at ${app} already`,
  recovery: app => `Set a new password for ${app}`,
  magiclink: app => `Sign in to ${app}`,
  otp: app => `Your code for ${app}`,
  invite: app => `You are invited to ${app}`,
  email_change: app => `Confirm your new address for ${app}`,
}

const KNOWN = `Somebody, perhaps you, tried to sign up with this address, which has an account already.

If it was you, sign in with your password, or ask for a new one.

If it was not, do nothing: nothing has changed, and the sender was not told that you have an account.
`

interface MailFacts {
  readonly as: MailKind | "known"
  readonly mail: MailRow
  readonly secrets: MailedSecrets
  readonly settings: ProjectSettings
}

// Nothing that the sender of the request wrote is in these mails: else anybody could mail anything to anybody.
export const composeMail = ({ as, mail, secrets: { token, code }, settings }: MailFacts) => {
  const link = linkOf(mail, settings, token)
  const how = link === undefined ? `this token:\n\n    ${token}\n` : `this link:\n\n    ${link}\n`
  const text = `${subjects[as](settings.name)} with ${how}
or with this code:

    ${code}

Each works once, until ${mail.expires_at.toUTCString()}.

If you have not asked for this mail, do nothing, and show it to nobody.
`
  return {
    template: settings.mail_templates[as],
    data: {
      app: settings.name,
      ...(as !== "known" && { token, code, ...(link !== undefined && { link }) }),
      expires_at: mail.expires_at.toISOString(),
    },
    subject: subjects[as](settings.name),
    text: as === "known" ? KNOWN : text,
  }
}
