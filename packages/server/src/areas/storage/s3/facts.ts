/** S3's oldest region, which every client knows. */
export const s3Region = "us-east-1"
/** A listing of buckets has no pages in most clients. */
export const BUCKETS_LISTED_MAX = 10_000
