package core

import "time"

// The limits of common uses. Each is an ordinary Limit, which methods can change further: its comment
// says which algorithm it is and why.

// ForPublicAPI is for calls of an API that anybody may use, n a minute: a TokenBucket that holds ten
// seconds' worth, n/6. A page may fire its calls at once, a client that goes on is admitted at an even
// rate instead of in a rush each minute, and no minute sees more than n and those.
func ForPublicAPI(n int64) Limit {
	return PerMinute(n).WithBurst(max(n/6, 1))
}

// ForLogin is for guesses of a password: a SlidingLog, since one guess too many is one too many.
// No stretch of the period has more than n, whenever it begins, and n is small, so that the log is too.
// Use it for each address, and again for each account, which many addresses may attack.
func ForLogin(n int64, period time.Duration) Limit {
	return Per(n, period).With(SlidingLog)
}

// ForSMSCode is for messages that cost money, one an interval: a LeakyBucket without a queue. What comes
// too early is refused at once, and RetryAfter is the countdown to show beside the button. Put a
// ForDailyQuota beside it: one a minute is many a day.
func ForSMSCode(interval time.Duration) Limit {
	return Per(1, interval).With(LeakyBucket)
}

// ForFileUpload is for bytes, so many each period: a TokenBucket that holds them all, so that one file of
// that size passes and a larger one never does. Give the size as the cost where it is known before, or
// Settle what was received; what is spent comes back evenly.
func ForFileUpload(bytes int64, period time.Duration) Limit {
	return Per(bytes, period)
}

// ForSearch is for expensive reads, n a minute: a SlidingWindow. Up to n may come at once, and then
// as those fade: there is no edge at which twice as many pass, as a fixed window has. Its state is
// of one size however large n is.
func ForSearch(n int64) Limit {
	return PerMinute(n).With(SlidingWindow)
}

// ForWebhookDelivery is for calls to somebody else's server, n a second: a LeakyBucket that
// queues so many, and spaces them instead of refusing them. Use it with Wait, or with an adapter's
// WithMaxDelay.
func ForWebhookDelivery(n, queue int64) Limit {
	return PerSecond(n).WithBurst(queue).With(LeakyBucket)
}

// ForDailyQuota is for what a plan includes, n a day: a FixedWindow from midnight to midnight in
// a time zone, since that is what a customer expects of a day; nil is UTC. All of it may be spent at
// once: put a limit a second or a minute beside it.
func ForDailyQuota(n int64, zone *time.Location) Limit {
	return PerCalendar(n, Daily, zone)
}
