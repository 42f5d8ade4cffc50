/** What other areas may ask of this one. */
import type { Db } from "../../kernel/db/database.ts"
import { offerToken } from "../../kernel/token.ts"

/** A mail that the platform sends in the name of a project. */
export interface PlatformMail {
  /** The same id again sends nothing. */
  readonly id: string
  readonly organizationId: string
  readonly projectId: string
  readonly to: string
  /** Name of a template of the project; undefined: subject and text. */
  readonly template: string | undefined
  readonly data: Readonly<Record<string, unknown>>
  readonly subject: string
  readonly text: string
}

export interface ProjectMail {
  /**
   * Accepts the mail in the transaction. Throws what refuses mails of the project: its quota, a template that is gone or
   * lacks a variable.
   */
  send(tx: Db, mail: PlatformMail): Promise<void>
}

export const projectMail = offerToken<ProjectMail>("projectMail")
