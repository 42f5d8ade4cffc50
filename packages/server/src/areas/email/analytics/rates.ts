/** Figures of a period, and what is made of them. */

export interface Counts {
  readonly sent: number
  readonly delivered: number
  readonly delayed: number
  readonly bounced: number
  readonly bounced_permanent: number
  readonly complained: number
  readonly opened: number
  readonly unique_opened: number
  readonly clicked: number
  readonly unique_clicked: number
  readonly unsubscribed: number
  readonly suppressed: number
  readonly failed: number
}

export const NO_COUNTS: Counts = {
  ...{ sent: 0, delivered: 0, delayed: 0, bounced: 0, bounced_permanent: 0, complained: 0, opened: 0 },
  ...{ unique_opened: 0, clicked: 0, unique_clicked: 0, unsubscribed: 0, suppressed: 0, failed: 0 },
}

const DIGITS = 1e6

/** Zero of nothing is zero. */
const share = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.round((part / whole) * DIGITS) / DIGITS

export const ratesOf = (counts: Counts) => ({
  delivery_rate: share(counts.delivered, counts.sent),
  open_rate: share(counts.unique_opened, counts.delivered),
  click_rate: share(counts.unique_clicked, counts.delivered),
  bounce_rate: share(counts.bounced, counts.sent),
  complaint_rate: share(counts.complained, counts.delivered),
  unsubscribe_rate: share(counts.unsubscribed, counts.delivered),
})

/** Amazon SES reviews senders at 5 % bounces and 0.1 % complaints; Gmail wants complaints never to reach 0.3 %. */
const WARN = { bounce_rate: 0.05, complaint_rate: 0.001 } as const
const PAUSE = { bounce_rate: 0.1, complaint_rate: 0.005 } as const
/** Of fewer mails a rate says nothing. */
export const REPUTATION_VOLUME_MIN = 100

/** What senders are judged by: mails that bounced for good, and those that were reported. */
export interface Reputation {
  readonly sent: number
  readonly delivered: number
  readonly bouncedPermanent: number
  readonly complained: number
}

export const warningsOf = ({ sent, delivered, bouncedPermanent, complained }: Reputation) => {
  if (sent < REPUTATION_VOLUME_MIN) return []
  const measured = {
    bounce_rate: share(bouncedPermanent, sent),
    complaint_rate: share(complained, delivered),
  }
  return (["bounce_rate", "complaint_rate"] as const)
    .map(code => ({ code, rate: measured[code], limit: WARN[code], pauses_at: PAUSE[code] }))
    .filter(({ rate, limit }) => rate >= limit)
}
