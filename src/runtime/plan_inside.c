static unsigned char *fgc_plan_from_file(struct fgc_object *m, const struct fgc_step *s)
{
    (void)s;
    fgc_fail(m, FGC_ERROR_PLAN, "the plan is not here");
    return NULL;
}
