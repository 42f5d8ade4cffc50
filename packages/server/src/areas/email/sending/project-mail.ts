import type { BackgroundMeters } from "../../../core/meters/meters.ts"
import type { Clock } from "../../../kernel/clock.ts"
import { afterCommit } from "../../../kernel/db/database.ts"
import { requireRow } from "../../../kernel/require-row.ts"
import type { PlatformMail, ProjectMail } from "../offers.ts"
import type { Accept } from "./accept.ts"
import type { Reading, Sender, TxInput } from "./reading.ts"
import { organizationOf } from "./schedule-target.ts"
import { messageStore } from "./store.ts"

interface Needs {
  readonly clock: Clock
  readonly meters: BackgroundMeters
  readonly accept: Accept
  readonly reading: Reading
}

/** Nobody is tracked by a mail that signs them in: its link is what it is. */
const UNTRACKED = { track_opens: false, track_clicks: false }

/** Mails that areas send in the name of a project: they count, and are seen by its owner, as all of its mails do. */
export const createProjectMail = ({ clock, meters, accept, reading }: Needs): ProjectMail => {
  const read = (tx: Parameters<ProjectMail["send"]>[0], mail: PlatformMail, sender: Sender) => {
    const { template, to, data, subject, text } = mail
    return template === undefined
      ? reading.raw({ to, subject, text, ...UNTRACKED }, sender)
      : reading.transactional(tx, { template, to, data, ...UNTRACKED } as TxInput, sender)
  }

  return {
    async send(tx, mail) {
      const { id, organizationId, projectId } = mail
      if (await messageStore(tx).find({ organizationId, projectId: null }, id)) return
      const now = new Date(clock.now())
      const organization = await requireRow(organizationOf(tx, organizationId), "organization_not_found")
      const sender = { organization: organization as Sender["organization"], projectId, now }
      const { sends } = await accept(tx, { ...(await read(tx, mail, sender)), id }, now)
      if (sends === 0) return
      const counted = { organizationId, projectId, metric: "email_sends", quantity: sends, at: now } as const
      afterCommit(tx, () => meters.count(counted))
    },
  }
}
