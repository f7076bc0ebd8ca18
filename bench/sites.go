package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// manySites measures the cost of a hit by the number of sites that a program hits in turn, and by threads: the
// difference to the same program without a tracer, whose functions cost more themselves when they are many. The limit
// has hand-written trampolines.
func (b *bench) manySites(dir string, rounds int, only string) error {
	if !strings.Contains("sites and threads", only) {
		return nil
	}
	plain, limit := filepath.Join(dir, "sites"), filepath.Join(dir, "siteslimit")
	for prog, flags := range map[string][]string{plain: nil, limit: {"-DLIMIT"}} {
		args := append(slices.Clone(flags), "-O2", "-g", "-pthread", "-o", prog, "bench/work/sites.c", "bench/work/sites.S")
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("building the program of many sites: %w: %s", err, out)
		}
	}
	fmt.Printf("%-44s %9s %9s %9s\n", "ns of a false condition, by sites and threads", "untraced", "limit", "jalon")
	for _, c := range []struct{ sites, threads int }{{1, 1}, {100, 1}, {1000, 1}, {10000, 1}, {1, 2}, {1000, 2}, {1, 16}, {1000, 16}} {
		var bare, hand, traced []float64
		args := []string{strconv.Itoa(c.sites), strconv.Itoa(c.threads), "5"}
		for range rounds {
			for _, m := range []struct {
				ns  *[]float64
				cmd *exec.Cmd
			}{{&bare, exec.Command(plain, args...)}, {&hand, exec.Command(limit, args...)}, {&traced, exec.Command(b.jalon, tracedSites(plain, c.sites, args)...)}} {
				ns, err := times(m.cmd)
				if err != nil {
					return err
				}
				*m.ns = append(*m.ns, ns...)
			}
		}
		// Other programs on the machine only add to the processor time of a batch, by what they evict from the caches.
		base := slices.Min(bare)
		fmt.Printf("%-44s %9.2f %9.2f %9.2f\n", fmt.Sprintf("%d sites, %d threads", c.sites, c.threads), base, slices.Min(hand)-base, slices.Min(traced)-base)
	}
	fmt.Println()
	return nil
}

// tracedSites are the arguments of jalon for a condition at the first functions, a power of ten of them, of sites.S.
func tracedSites(prog string, sites int, args []string) []string {
	out := []string{"trace", "-f", "none"}
	if sites == 1 {
		out = append(out, "uprobe:"+prog+":site0 if 2*(int)arg0+3*(int)arg1<0")
	}
	for digits := "?"; sites > 1; sites /= 10 {
		out = append(out, "uprobe:"+prog+":site"+digits+" if 2*(int)arg0+3*(int)arg1<0")
		digits += "?"
	}
	return append(append(out, "--", prog), args...)
}
